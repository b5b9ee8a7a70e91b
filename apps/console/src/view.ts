/** For the types only: the build puts the view of one service in its place (vite.config.ts). */
export { View } from './buyer/view'
