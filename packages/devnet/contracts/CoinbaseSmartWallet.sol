// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ECDSA} from '@openzeppelin/contracts/utils/cryptography/ECDSA.sol';
import {IERC1271} from '@openzeppelin/contracts/interfaces/IERC1271.sol';

/// @title A contract wallet that a client cannot tell from Coinbase's, which Base Account uses
/// @notice DEVELOPMENT ONLY. Owners are accounts with keys; passkeys are not supported.
/// @dev A signature is `abi.encode(SignatureWrapper)`, and its owner signs the hash in the domain of the wallet, so that it
/// holds for no other wallet of that owner.
contract CoinbaseSmartWallet is IERC1271 {
    struct SignatureWrapper {
        uint256 ownerIndex;
        bytes signatureData;
    }

    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)');
    bytes32 private constant MESSAGE_TYPEHASH = keccak256('CoinbaseSmartWalletMessage(bytes32 hash)');

    bytes[] private _owners;

    constructor(bytes[] memory owners) {
        _owners = owners;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        SignatureWrapper memory wrapper = abi.decode(signature, (SignatureWrapper));
        (address signer, ECDSA.RecoverError problem, ) = ECDSA.tryRecover(replaySafeHash(hash), wrapper.signatureData);
        bool signed = problem == ECDSA.RecoverError.NoError && signer == _addressOf(wrapper.ownerIndex);
        return signed ? IERC1271.isValidSignature.selector : bytes4(0xffffffff);
    }

    function replaySafeHash(bytes32 hash) public view returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(
                DOMAIN_TYPEHASH,
                keccak256('Coinbase Smart Wallet'),
                keccak256('1'),
                block.chainid,
                address(this)
            )
        );
        return keccak256(abi.encodePacked(hex'1901', domain, keccak256(abi.encode(MESSAGE_TYPEHASH, hash))));
    }

    function _addressOf(uint256 ownerIndex) private view returns (address) {
        return abi.decode(_owners[ownerIndex], (address));
    }
}

/// @title Creates these wallets at addresses that follow from their owners and a nonce
/// @notice DEVELOPMENT ONLY. Has no state of its own, so that it can be placed with `anvil_setCode`.
contract CoinbaseSmartWalletFactory {
    error OwnerRequired();

    /// @notice Returns the wallet that is there already, or creates it.
    function createAccount(bytes[] calldata owners, uint256 nonce) external payable returns (CoinbaseSmartWallet account) {
        if (owners.length == 0) revert OwnerRequired();
        address expected = getAddress(owners, nonce);
        if (expected.code.length > 0) return CoinbaseSmartWallet(expected);
        account = new CoinbaseSmartWallet{salt: _salt(owners, nonce)}(owners);
    }

    function getAddress(bytes[] calldata owners, uint256 nonce) public view returns (address) {
        bytes memory code = abi.encodePacked(type(CoinbaseSmartWallet).creationCode, abi.encode(owners));
        bytes32 hash = keccak256(abi.encodePacked(hex'ff', address(this), _salt(owners, nonce), keccak256(code)));
        return address(uint160(uint256(hash)));
    }

    function _salt(bytes[] calldata owners, uint256 nonce) private pure returns (bytes32) {
        return keccak256(abi.encode(owners, nonce));
    }
}
