import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'

const { DockerfileParser } = createRequire(new URL('../e2e/package.json', import.meta.url))('dockerfile-ast')

/**
 * Runs the steps of a Dockerfile in `folder`, with a folder per stage: FROM copies a stage, COPY copies files, RUN runs a
 * shell command with the absolute paths of the stage. This machine replaces the base image. `onStep` gets each step and its
 * duration in seconds.
 *
 * @returns the last stage: its files and its command
 */
export async function buildWithoutDocker({ dockerfile, context, folder, onStep }) {
  const steps = DockerfileParser.parse(readFileSync(dockerfile, 'utf8')).getInstructions()
  const made = madeFolders(steps)
  const stages = new Map()
  let stage

  for (const step of steps) {
    const words = step.getExpandedArguments().map((word) => word.getValue())
    const flags = (step.getFlags?.() ?? []).map((flag) => [flag.getName(), flag.getValue()])
    switch (step.getKeyword()) {
      case 'FROM':
        stage = enter({ from: stages.get(words[0]), name: words[2] ?? 'last', folder, made })
        stages.set(stage.name, stage)
        break
      case 'ENV':
        for (const [name, value] of words.map((word) => word.split(/=(.*)/s)))
          stage.env[name] = stage.inside(value)
        break
      case 'WORKDIR':
        stage.cwd = stage.path(words[0])
        mkdirSync(stage.cwd, { recursive: true })
        break
      case 'COPY':
        copy({ words, source: stages.get(new Map(flags).get('from')), stage, context })
        break
      case 'RUN':
        for (const [, mount] of flags.filter(([name]) => name === 'mount')) mountCache(mount, stage, folder)
        await run({ command: step.getArgumentsContent(), stage, onStep })
        break
      case 'CMD':
        stage.command = JSON.parse(step.getArgumentsContent())
        break
      case 'USER':
        stage.user = words[0]
    }
  }
  return stage
}

/** The top-level folders that the Dockerfile creates, by WORKDIR and by the paths in its environment. */
function madeFolders(steps) {
  const paths = steps.filter((step) => ['WORKDIR', 'ENV'].includes(step.getKeyword()))
  const text = paths.map((step) => ` ${step.getArgumentsContent()}`).join(' ')
  return [...new Set([...text.matchAll(/[\s=]\/(\w+)/g)].map(([, top]) => top))]
}

function enter({ from, name, folder, made }) {
  const root = join(folder, name)
  mkdirSync(join(root, 'usr/local/bin'), { recursive: true })
  if (from) cpSync(from.root, root, { recursive: true, verbatimSymlinks: true })
  const relocate = new RegExp(`(^|[\\s="'])/(?=(${made.join('|')})(/|["']|\\s|$))`, 'g')
  const stage = {
    name,
    root,
    cwd: from ? join(root, relative(from.root, from.cwd)) : root,
    env: {},
    inside: (text) => text.replace(relocate, `$1${root}/`),
    path: (path) => (isAbsolute(path) ? join(root, path) : resolve(stage.cwd, path)),
  }
  for (const [variable, value] of Object.entries(from?.env ?? {}))
    stage.env[variable] = value.replaceAll(from.root, root)
  return stage
}

function copy({ words, source, stage, context }) {
  const target = words.at(-1)
  for (const word of words.slice(0, -1)) {
    const from = source ? source.path(word) : join(context.root, word)
    if (!existsSync(from)) throw new Error(`COPY ${word}: there is no such file`)
    const isFolder = word === '.' || word.endsWith('/') || source !== undefined
    const to = isFolder ? stage.path(target) : join(stage.path(target), word)
    const filter = source ? undefined : (path) => !context.ignores(relative(context.root, path))
    cpSync(from, to, { recursive: true, verbatimSymlinks: true, ...(filter && { filter }) })
  }
}

function mountCache(mount, stage, folder) {
  const { id, target } = Object.fromEntries(mount.split(',').map((part) => part.split('=')))
  const at = stage.path(target)
  if (existsSync(at)) return
  mkdirSync(join(folder, '../cache', id), { recursive: true })
  mkdirSync(dirname(at), { recursive: true })
  symlinkSync(join(folder, '../cache', id), at)
}

async function run({ command, stage, onStep }) {
  const startedAt = performance.now()
  let said = ''
  const child = spawn('/bin/sh', ['-c', stage.inside(command)], { cwd: stage.cwd, env: environmentOf(stage) })
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text))
  const code = await new Promise((done, failed) => child.once('error', failed).once('close', done))
  if (code !== 0) throw new Error(`RUN ${command} failed (${code}):\n${said.slice(-6_000)}`)
  onStep(`RUN ${command}`, (performance.now() - startedAt) / 1000)
}

/** The environment of a new container, plus the registry and proxy settings of this machine. */
const environmentOf = ({ root, env }) => ({
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) =>
      /^npm_config_(?!local_prefix|global)|_proxy$|^NODE_EXTRA_CA_CERTS$/i.test(name),
    ),
  ),
  npm_config_userconfig: process.env.npm_config_userconfig ?? join(homedir(), '.npmrc'),
  npm_config_prefix: join(root, 'usr/local'),
  HOME: join(root, 'root'),
  PATH: [join(root, 'usr/local/bin'), dirname(process.execPath), '/usr/local/bin:/usr/bin:/bin'].join(':'),
  ...env,
})

/** By the .dockerignore of `root`: the last pattern that matches a path or one of its parents decides. */
export function contextOf(root) {
  const lines = readFileSync(join(root, '.dockerignore'), 'utf8')
    .split('\n')
    .map((line) => line.trim())
  const patterns = lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ keeps: line.startsWith('!'), matches: matcherOf(line.replace(/^!/, '')) }))
  return {
    root,
    ignores(path) {
      if (path === '') return false
      const parts = path.split('/')
      const parents = parts.map((_, index) => parts.slice(0, index + 1).join('/'))
      return (
        patterns.findLast(({ matches }) => parents.some((parent) => matches.test(parent)))?.keeps === false
      )
    },
  }
}

const matcherOf = (pattern) =>
  new RegExp(
    `^${pattern
      .replace(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll('**/', '\0')
      .replaceAll('*', '[^/]*')
      .replaceAll('\0', '(?:.*/)?')}$`,
  )
