import { runAnimalStoreCommand } from 'animal-store';
import { GroomingModule } from './grooming.module';

/** Without arguments it runs the service; `npm run -s cli -- keys list` and the like run a command. */
const [command = 'start', ...args] = process.argv.slice(2);
void runAnimalStoreCommand([command, ...args], { extensions: [GroomingModule] }).then((status) => {
  process.exitCode = status;
});
