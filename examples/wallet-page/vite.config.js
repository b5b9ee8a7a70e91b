/** Bundled when the server starts, so that the first visit is not reloaded. */
export default { optimizeDeps: { include: ['@tollgate/wallet'] } }
