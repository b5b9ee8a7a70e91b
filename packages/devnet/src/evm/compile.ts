import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Interface, type InterfaceAbi } from 'ethers'
import solc from 'solc'
import { type Artifact, ARTIFACTS_FILE, CONTRACTS_FOLDER } from './artifacts'

type CompilerOutput = {
  errors?: { severity: string; formattedMessage: string }[]
  contracts: Record<string, Record<string, CompiledContract>>
}

type CompiledContract = {
  abi: InterfaceAbi
  evm: Record<'bytecode' | 'deployedBytecode', { object: string }>
}

/** Compiles `contracts/`; reproducible. Warnings are errors. */
export function compileContracts(): Record<string, Artifact> {
  const files = readdirSync(CONTRACTS_FOLDER).filter((name) => name.endsWith('.sol'))
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries(
      files.map((name) => [name, { content: readFileSync(join(CONTRACTS_FOLDER, name), 'utf8') }]),
    ),
    settings: {
      evmVersion: 'prague',
      optimizer: { enabled: true, runs: 10_000 },
      metadata: { bytecodeHash: 'none', appendCBOR: false },
      outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } },
    },
  }
  const compile = solc.compile as (input: string, callbacks: { import: typeof library }) => string
  const output = JSON.parse(compile(JSON.stringify(input), { import: library })) as CompilerOutput
  if (output.errors?.length) throw new Error(output.errors.map((e) => e.formattedMessage).join('\n'))
  return Object.fromEntries(
    files.flatMap((file) =>
      Object.entries(output.contracts[file] ?? {}).map(([name, { abi, evm }]) => [
        name,
        {
          abi: new Interface(abi).format(),
          bytecode: `0x${evm.bytecode.object}`,
          deployedBytecode: `0x${evm.deployedBytecode.object}`,
        },
      ]),
    ),
  )
}

function library(path: string) {
  return { contents: readFileSync(require.resolve(path), 'utf8') }
}

if (require.main === module) writeFileSync(ARTIFACTS_FILE, `${JSON.stringify(compileContracts(), null, 2)}\n`)
