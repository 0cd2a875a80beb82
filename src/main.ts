import './platform/runtime/node-version';
import './platform/runtime/v8-flags';
import { startAnimalStore } from './app/start';

void startAnimalStore();
