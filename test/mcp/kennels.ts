import { Body, Controller, Module, Param, Post } from '@nestjs/common';
import { ApiSchema } from '@nestjs/swagger';
import { Throttle } from '@nestjs/throttler';
import { defineScopes, type Extension, Int64, Nested, Operation, Text } from '../../src';

export const kennelScopes = defineScopes('kennels', 'write');
export const GREATEST = '9223372036854775807';

@ApiSchema({ description: 'A dog with its ancestors.' })
class Dog {
  @Int64({ description: 'Its number.', example: 1, nullable: true })
  readonly number!: bigint | null;

  @Text({ description: 'Where it lives.', example: 'Here', max: 30 })
  readonly place!: string;

  @Nested(() => Dog, { description: 'Its mother.', optional: true })
  readonly mother?: Dog;

  @Nested(() => Dog, { description: 'Its father.', optional: true })
  readonly father?: Dog;
}

@ApiSchema({ description: 'The dog that was added.' })
class Added {
  @Text({ description: 'Where it lives.', example: 'Here', max: 30 })
  readonly place!: string;

  @Int64({ description: 'The number of its mother.', example: 1 })
  readonly mother!: bigint;
}

@Controller({ path: 'kennels', version: '1' })
class KennelsController {
  @Post(':place')
  @Throttle({ short: { limit: 50, ttl: 1_500 }, long: { limit: 900, ttl: 3_600_000 } })
  @Operation({
    id: 'addDog',
    summary: 'Add a dog',
    description: 'Adds a dog.',
    scope: kennelScopes.write,
    returns: [201, Added, 'The dog.'],
  })
  add(@Param('place') place: string, @Body() { mother }: Dog): Added {
    return { place, mother: mother?.number ?? 0n };
  }
}

@Module({ controllers: [KennelsController] })
class KennelsModule {}

/** A team's extension with one operation. */
export const kennels: Extension = {
  name: 'kennels',
  scopes: Object.values(kennelScopes),
  modules: [KennelsModule],
};
