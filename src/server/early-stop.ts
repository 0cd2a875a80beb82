import { exitOnStopSignal } from './graceful-stop';

/** Makes a stop signal effective while the other files are loaded. Import this file first. */
exitOnStopSignal();
