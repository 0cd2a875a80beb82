import { Body, Controller, Get, Module, Post, Query } from '@nestjs/common';
import { ApiSchema } from '@nestjs/swagger';
import {
  AtLeastOne,
  Decimal,
  Flag,
  Int64,
  Integer,
  ListOf,
  Nested,
  OneOf,
  Operation,
  RequireScope,
  Text,
  Timestamp,
} from '../../../src';

const SIZE = { name: 'Size', description: 'A size.', values: ['s', 'm'] };

@ApiSchema({ description: 'A toy.' })
class Toy {
  @Text({ max: 5, description: 'Name.', example: 'ball' })
  readonly name!: string;
}

@ApiSchema({ description: 'A basket.' })
class Basket {
  @Text({ max: 3, nullable: true, description: 'Label.', example: 'A' })
  readonly label!: string | null;

  @Text({ min: 0, max: 3, optional: true, description: 'Note.', example: '' })
  readonly note?: string;

  @Int64({ nullable: true, description: 'Number.', example: 1 })
  readonly number!: bigint | null;

  @Integer({ min: 0, max: 9, description: 'Places.', example: 1 })
  readonly places!: number;

  @Decimal({ min: 0, max: 9.5, description: 'Weight.', example: 1.5 })
  readonly weight!: number;

  @Decimal({ min: 0, max: 1000, optional: true, description: 'Dose.', example: 1.5 })
  readonly dose?: number;

  @Flag({ description: 'Open.', example: true })
  readonly open!: boolean;

  @OneOf(SIZE, { nullable: true, description: 'Size.', example: 's' })
  readonly size!: string | null;

  @Nested(() => Toy, { nullable: true, description: 'The best toy.' })
  readonly best!: Toy | null;

  @Timestamp({ description: 'Opening.', example: '2026-11-21T12:00:00.000Z' })
  readonly opensAt!: string;

  @Int64({ min: 0, max: 9007199254740993n, optional: true, description: 'Price in cents.', example: 1 })
  readonly price?: bigint;

  @ListOf(() => Toy, { max: 2, description: 'All toys.' })
  readonly toys!: Toy[];
}

class Labelled extends Basket {
  @Text({ max: 3, description: 'Note.', example: 'B' })
  declare readonly note: string;
}

@AtLeastOne()
class BasketsQuery {
  @Integer({ min: 0, max: 9, optional: true, description: 'Places.', example: 1 })
  readonly places?: number;

  @Decimal({ min: 0, max: 9.5, optional: true, description: 'Weight.', example: 1.5 })
  readonly weight?: number;

  @Flag({ optional: true, description: 'Open.', example: true })
  readonly open?: boolean;

  @Int64({ min: -5, optional: true, description: 'Price in cents.', example: 1 })
  readonly price?: bigint;

  @Timestamp({ optional: true, description: 'Opening.', example: '2026-11-21T12:00:00Z' }, 'given')
  readonly opensAt?: string;
}

/** A basket without anything optional. */
export const EMPTY = {
  label: null,
  number: null,
  places: 1,
  weight: 0,
  open: true,
  size: null,
  best: null,
  opensAt: '0001-01-01T00:00:00.000Z',
  toys: [],
};

@Controller({ path: 'baskets', version: '1' })
class BasketsController {
  @Post()
  @Operation({
    id: 'createBasket',
    summary: 'Create a basket',
    description: 'Returns the basket.',
    scope: 'pets:write',
    returns: [201, Basket, 'The basket.'],
  })
  create(@Body() basket: Basket) {
    return basket;
  }

  @Post('labelled')
  @RequireScope('pets:write')
  createLabelled(@Body() basket: Labelled) {
    return { note: basket.note };
  }

  @Get()
  @Operation({
    id: 'findBasket',
    summary: 'Find a basket',
    description: 'Returns a basket.',
    scope: 'pets:read',
    returns: [200, Basket, 'The basket.'],
  })
  find(@Query() query: BasketsQuery) {
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    return Object.assign({ ...EMPTY }, Object.fromEntries(given));
  }
}

/** A module with every field decorator. */
@Module({ controllers: [BasketsController] })
export class BasketsModule {}
