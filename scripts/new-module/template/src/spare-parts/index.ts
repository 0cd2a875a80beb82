export { sparePartsExtension } from './spare-parts.extension';
