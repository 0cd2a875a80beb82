import { runAnimalStoreCommand } from 'animal-store';
import { grooming } from './grooming.extension';

/** Without arguments it runs the service; `npm run -s cli -- keys list` and the like run a command. */
const [command = 'start', ...args] = process.argv.slice(2);

void runAnimalStoreCommand([command, ...args], { extensions: [grooming] }).then((status) => {
  process.exitCode = status;
});
