import { open } from 'node:fs/promises';
import { devNull } from 'node:os';
import { Injectable } from '@nestjs/common';
import { PeriodicWork } from '../../platform/runtime/periodic-work';
import { SECOND_MS } from '../../platform/runtime/time';

/** Warns when the limit of open files is reached. Node.js then closes new connections, and tells nothing of it. */
@Injectable()
export class OpenFiles extends PeriodicWork {
  constructor() {
    super('The opening of files and connections (ulimit -n)', 2 * SECOND_MS, true);
  }

  /** @throws Error `EMFILE`, `ENFILE` */
  async run(): Promise<void> {
    await (await open(devNull)).close();
  }
}
