export { administrationExtension } from './administration.extension';
