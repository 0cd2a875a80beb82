import './platform/runtime/prepare-process';
import { startAnimalStore } from './app/start';

void startAnimalStore();
