/** The colours of the page, as `#rrggbb`: texts in front, and what they stand on behind. */
export const palette = {
  light: {
    front: { ink: '#1b2330', quiet: '#55606f', link: '#0b57b0', strong: '#9a3412' },
    behind: { page: '#ffffff', panel: '#f4f6f9' },
    line: '#d5dbe3',
  },
  dark: {
    front: { ink: '#e6eaf0', quiet: '#a5b0bf', link: '#8ab8ff', strong: '#ffb38a' },
    behind: { page: '#11161d', panel: '#1a212b' },
    line: '#343e4b',
  },
}

const variables = ({ front, behind, line }: (typeof palette)['light']) =>
  Object.entries({ ...front, ...behind, line })
    .map(([name, colour]) => `--${name}:${colour}`)
    .join(';')

/** The whole style of the page; it refers to nothing outside. */
export const style = `
:root{color-scheme:light;${variables(palette.light)}}
@media (prefers-color-scheme:dark){:root{color-scheme:dark;${variables(palette.dark)}}}
*{box-sizing:border-box}
html{scroll-padding-top:1rem;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);font:1rem/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;overflow-wrap:break-word}
a{color:var(--link);text-underline-offset:.15em}
a:focus-visible,pre:focus-visible,summary:focus-visible{outline:3px solid var(--link);outline-offset:2px;border-radius:2px}
code,pre{font:.875em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
code{overflow-wrap:anywhere}
h1,h2,h3,h4,p,dl,ol,ul,pre{margin:0}
h1{font-size:1.875rem;line-height:1.2}
h2{font-size:1.5rem;line-height:1.25}
h3{font-size:1.125rem;line-height:1.4}
h4{font-size:1rem;margin-top:1.5rem}
.skip{position:absolute;left:-999rem}
.skip:focus{left:1rem;top:1rem;background:var(--page);padding:.5rem 1rem;z-index:1}
.layout{max-width:76rem;margin:0 auto;padding:0 1.25rem}
.top{padding:2rem 0 1rem}
.top p{max-width:44rem;margin-top:.75rem}
.top ol{max-width:44rem;margin-top:.75rem;padding-left:1.5rem}
.top li+li{margin-top:.25rem}
.quiet,.type,.limits,.optional{color:var(--quiet)}
.required{color:var(--strong)}
nav{padding:1rem 1.25rem;background:var(--panel);border:1px solid var(--line);border-radius:.5rem;font-size:.9375rem}
nav h2{font-size:1rem}
nav h3{font-size:.875rem;color:var(--quiet);font-weight:600;margin-top:.75rem}
nav ul{list-style:none;padding:0}
nav a{display:block;padding:.3rem 0;text-decoration:none}
nav a:hover{text-decoration:underline}
nav .method{font-size:.75em;min-width:3.25em;display:inline-block}
main{min-width:0}
main>section{padding-top:2.5rem}
main>section>p{color:var(--quiet);margin-top:.25rem}
article{margin-top:1.5rem;padding:1.25rem;border:1px solid var(--line);border-radius:.5rem}
article p{max-width:44rem}
article>p{margin-top:.5rem}
.method{font-weight:700}
h3 .path{font-size:1em;font-weight:600}
.summary{font-weight:600}
dl{margin-top:.5rem;border-top:1px solid var(--line)}
.field{padding:.6rem 0;border-bottom:1px solid var(--line)}
dt .name,dt .status{font-weight:700}
dt .type,dt .optional,dt .required{font-size:.875rem;margin-left:.35rem}
dd{margin:.15rem 0 0}
dd p+p{margin-top:.25rem}
dd dl{margin:.5rem 0 .25rem;padding-left:1rem;border-top:0;border-left:2px solid var(--line)}
dd dl .field:last-child{border-bottom:0}
.limits{font-size:.875rem}
ul.codes{margin:.25rem 0 0;padding-left:1.25rem}
pre{margin-top:.5rem;padding:.85rem 1rem;background:var(--panel);border:1px solid var(--line);border-radius:.375rem;overflow-x:auto;white-space:pre}
pre code{font-size:1em;overflow-wrap:normal}
details{margin-top:.5rem}
summary{cursor:pointer;color:var(--link);padding:.25rem 0}
footer{padding:2.5rem 0 3rem;color:var(--quiet);font-size:.875rem}
@media (min-width:60rem){
.columns{display:grid;grid-template-columns:18rem minmax(0,1fr);gap:2.5rem;align-items:start}
nav{position:sticky;top:1rem;max-height:calc(100vh - 2rem);overflow-y:auto}
main>section:first-child{padding-top:0}
}
@media print{nav,.skip{display:none}article{break-inside:avoid}}
`
