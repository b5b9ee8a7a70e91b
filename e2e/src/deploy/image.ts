import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DockerfileParser, type From, type Instruction } from 'dockerfile-ast'
import { root } from './kustomize'
import { type Service } from './settings'

export const dockerfileOf = (service: Service) =>
  readFileSync(join(root, 'docker', `${service}.Dockerfile`), 'utf8')

export function imageOf(service: Service) {
  const instructions = DockerfileParser.parse(dockerfileOf(service)).getInstructions()
  const last = instructions.findLastIndex((instruction) => instruction.getKeyword() === 'FROM')
  const stage = instructions.slice(last)
  const say = (keyword: string) =>
    stage.filter((instruction) => instruction.getKeyword() === keyword).map(contentOf)
  return {
    /** By stage, with their base images. */
    instructions,
    base: (instructions[last] as From).getImage(),
    environment: Object.fromEntries(
      say('ENV')
        .flatMap((content) => content.split(/\s+/))
        .map((word) => word.split(/=(.*)/s).slice(0, 2) as [string, string]),
    ),
    copies: stage.filter((instruction) => instruction.getKeyword() === 'COPY'),
    runs: say('RUN'),
    user: say('USER'),
    exposes: say('EXPOSE'),
    entrypoint: say('ENTRYPOINT'),
    command: say('CMD'),
    healthcheck: say('HEALTHCHECK'),
    labels: say('LABEL').join(' '),
  }
}

export const contentOf = (instruction: Instruction) => instruction.getArgumentsContent() ?? ''
