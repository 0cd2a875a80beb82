import { ModulesContainer } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ThrottlerModule } from '@nestjs/throttler';
import { UserError } from '../../platform/errors/user-error';

/** Rejects the module of the throttler: its guard would count again, in each process, and replace the headers. */
export function rejectThrottlerModule(app: NestFastifyApplication): void {
  const modules = [...app.get(ModulesContainer).values()];
  if (modules.some(({ metatype }) => metatype === ThrottlerModule)) {
    throw new UserError(
      'A module imports ThrottlerModule: remove the import, because @Throttle works without it.',
    );
  }
}
