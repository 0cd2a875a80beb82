import { exitOnStopSignal } from './stop-signals';

/** Makes a stop signal effective while the other files are loaded. Import this file first. */
exitOnStopSignal();
