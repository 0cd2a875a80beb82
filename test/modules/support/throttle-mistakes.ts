import { Controller, Get, Module, type Type } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import { Throttle, ThrottlerModule } from '@nestjs/throttler';
import { RequireScope } from '../../../src';

/** Creates a module with one route at /v1/lab, whose handler and controller have these decorators. */
export function labWith(method: MethodDecorator, controller: ClassDecorator = () => undefined): Type {
  @Controller({ path: 'lab', version: '1' })
  @controller
  class LabController {
    @Get()
    @RequireScope('pets:read')
    @method
    get() {
      return {};
    }
  }
  @Module({ controllers: [LabController] })
  class LabModule {}
  return LabModule;
}

/** Two controllers with one name. The windows of their routes would be the same. */
export const SAME_NAMES = ['north', 'south'].map((path): Type => {
  @Controller({ path, version: '1' })
  @Throttle({ default: { limit: 5, ttl: 60_000 } })
  class LabController {
    @Get()
    @ApiOperation({ operationId: path })
    @RequireScope('pets:read')
    get() {
      return {};
    }
  }
  @Module({ controllers: [LabController] })
  class LabModule {}
  return LabModule;
});

@Module({ imports: [ThrottlerModule.forRoot([{ limit: 5, ttl: 60_000 }])] })
export class WithThrottlerModule {}
