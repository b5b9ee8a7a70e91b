export { previousRelease, type Release } from './previous-release'
