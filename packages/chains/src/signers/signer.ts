/** How the signers of a chain family sign. */
export type SignatureScheme = {
  addressOf(publicKey: Uint8Array): string
  /** 32 bytes. */
  digestOf(message: Uint8Array): Uint8Array
}

/** An account that signs settlements, with a secp256k1 key. Where the key is kept is the signer's own affair. */
export type Signer = {
  readonly address: string
  /** Compressed, 33 bytes. */
  readonly publicKey: Uint8Array
  /**
   * r and s, 32 bytes each, low s: the signature of `publicKey` over the digest of `message` that the chain family uses. Rejects with
   * `SignerUnavailable`.
   */
  sign(message: Uint8Array): Promise<Uint8Array>
  /** Of a signer that is another service. */
  readonly remote?: RemoteState
}

type RemoteState = {
  /** False after a failure, until the service answers again. Sends nothing if the latest signature succeeded. */
  isAvailable(): Promise<boolean>
  /** Why the service cannot sign with the key, without any URL; undefined if it can. */
  check(): Promise<string | undefined>
}
