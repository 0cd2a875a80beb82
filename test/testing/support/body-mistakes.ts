import { ApiProperty, ApiPropertyOptional, ApiSchema, PartialType, PickType } from '@nestjs/swagger';
import { IsIn, IsInt, IsNumber, IsOptional, IsString, Length, Min } from 'class-validator';
import { Decimal, Int64, Integer, Text } from '../../../src';
import { createTable } from './items.parts';
import { type Mistakes, on } from './mistake';

const NAME = { description: 'Name of the item.', example: 'North' };
const WEIGHT = { description: 'Weight in grams.', example: 5 };
const PRICE = { price: [Decimal({ min: 0, max: 9.5, optional: true, description: 'Price.', example: 2.5 })] };
const SUM = { sum: [Decimal({ min: 0, max: 1e30, optional: true, description: 'Sum.', example: 1e17 })] };
const PLACES = { description: 'Number of places.', example: 12 };

class WholeItem {
  @Text({ max: 50, ...NAME })
  readonly name!: string;

  @Int64(WEIGHT)
  readonly weight!: bigint;
}

/** By default it accepts null for each member. */
@ApiSchema({ description: 'An item.' })
class PartOfItem extends PartialType(PickType(WholeItem, ['weight'])) {
  @Text({ max: 50, ...NAME })
  readonly name!: string;
}

/** Mistakes in the class of a body. */
export const BODY_MISTAKES: Mistakes = on(['create'], {
  'behind-throttle': {
    sentence: /responds 500 to name = "a\\u0000b"/,
    body: { name: [ApiProperty({ type: 'string', ...NAME }), IsString(), Length(1, 50)] },
    throttle: 2,
  },
  'text-too-long': {
    sentence: /responds 500 to name = "xxx.*too long/,
    body: { name: [Text({ max: 60_000, ...NAME })] },
    up: (table) => createTable(table, 'varchar(20)'),
  },
  'maximum-ignored': {
    sentence: /accepts places = 501 .*must be <= 500/,
    body: {
      places: [ApiPropertyOptional({ type: 'integer', maximum: 500, ...PLACES }), IsOptional(), IsInt()],
    },
  },
  'exclusive-minimum-ignored': {
    sentence: /accepts dose = 0 \(\/dose must be > 0\)/,
    body: {
      dose: [
        ApiProperty({ type: 'number', minimum: 0, exclusiveMinimum: true, ...PLACES }),
        IsNumber(),
        Min(0),
      ],
    },
  },
  'null-in-a-part': {
    sentence: /accepts weight = null .*\. With PartialType, set skipNullProperties: false\./,
    bodyType: PartOfItem,
  },
  'required-ignored': {
    sentence: /accepts places = \(missing\)/,
    body: {
      places: [Integer({ min: 1, max: 500, optional: true, ...PLACES }), ApiProperty({ required: true })],
    },
  },
  'example-rejected': {
    sentence: /rejects the documented example, .*name must be one of/,
    body: { name: [ApiProperty({ type: 'string', ...NAME }), IsIn(['South'])] },
  },
  'example-of-another-schema': {
    sentence: /has an example of its body that differs from its schema: body \/places must be <= 9/,
    body: { places: [Integer({ min: 1, max: 9, optional: true, ...PLACES })] },
  },
  'other-default': {
    sentence: /responds with places = 12 without places, whose default is 7/,
    body: { places: [Integer({ min: 1, max: 500, default: 7, optional: true, ...PLACES })] },
  },
  'large-int-rejected': {
    sentence: /rejects weight = 9007199254740993, which its document allows/,
    body: { weight: [ApiProperty({ type: 'integer', format: 'int64', ...WEIGHT }), IsInt()] },
  },
  'large-int-rounded': {
    sentence: /responds with weight = 9007199254740992/,
    hasWeight: true,
    create(body, _reply, transaction) {
      return this.insert({ ...body, weight: Number(body.weight) }, transaction);
    },
  },
  'decimal-rounded': {
    sentence: /responds with price = 0\.33 to price = 0\.333/,
    body: PRICE,
    item: PRICE,
    async create(body, _reply, transaction) {
      const row = await this.insert(body, transaction);
      return { ...row, price: body.price && Number(body.price.toFixed(2)) };
    },
  },
  'large-decimal-rounded': {
    sentence: /responds with sum = 9223372036854780000 to sum = 9223372036854775808/,
    body: SUM,
    item: SUM,
    async create(body, _reply, transaction) {
      const row = await this.insert(body, transaction);
      return { ...row, sum: body.sum && Number(body.sum.toPrecision(15)) };
    },
  },
});
