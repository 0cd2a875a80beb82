import { runAnimalStoreCommand, startAnimalStore } from '../../../src';
import { kennels } from '../../modules/support/kennels.extension';

/** The program of a team: without arguments the service, with arguments a command. */
const args = process.argv.slice(2);
const options = { extensions: [kennels] };
if (args.length === 0) void startAnimalStore(options);
else void runAnimalStoreCommand(args, options).then((status) => (process.exitCode = status));
