import { join } from 'node:path'
import { base, hasKubectl, type Manifest, render, renderByKubectl, root } from './kustomize'

/** What an installation keeps, whatever an overlay changes. */
export const renderings: [string, () => Manifest[]][] = [['k8s/base', () => render(base)]]
if (hasKubectl)
  for (const overlay of ['k8s/overlays/example', 'k8s/overlays/production'])
    renderings.push([overlay, () => renderByKubectl(join(root, overlay))])
