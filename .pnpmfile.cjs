/**
 * Prisma's client names its generator as a peer that it can do without, and pnpm would therefore put the generator, with
 * its studio and its own database, into what `pnpm deploy` makes: 235 MB more in each image, none of which runs.
 */
module.exports = {
  hooks: {
    readPackage(manifest) {
      if (manifest.name === '@prisma/client') {
        delete manifest.peerDependencies
        delete manifest.peerDependenciesMeta
      }
      return manifest
    },
  },
}
