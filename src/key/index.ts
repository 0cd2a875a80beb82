export { keyExtension } from './key.extension';
