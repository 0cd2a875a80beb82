export { KeyModule } from './key.module';
