import './platform/runtime/node-version';
import { startAnimalStore } from './app/start';

void startAnimalStore();
