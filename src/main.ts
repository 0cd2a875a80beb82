import './app/node-version';
import { startAnimalStore } from './app/start';

void startAnimalStore();
