import { Body, Controller, Module, Post } from '@nestjs/common';
import { Validate, ValidatorConstraint } from 'class-validator';
import { RequireScope } from '../../src';
import { startApp } from '../support/app';
import { expectError } from '../support/expect-error';

@ValidatorConstraint({ async: true })
class IsFree {
  validate = (place: number) => Promise.resolve(place === 7);
  defaultMessage = () => 'place must be free';
}

class Booking {
  @Validate(IsFree)
  readonly place!: number;
}

@Controller({ path: 'bookings', version: '1' })
class BookingsController {
  @Post()
  @RequireScope('pets:write')
  create(@Body() booking: Booking) {
    return booking;
  }
}

@Module({ controllers: [BookingsController] })
class BookingsModule {}

it('a DTO is 400 if an asynchronous validator rejects it', async () => {
  const app = await startApp({}, { modules: [BookingsModule] });
  const book = (place: number) => app.post('/v1/bookings', { place }, { isDocumented: false });
  expect((await book(7)).json).toEqual({ place: 7 });
  const rejected = await book(8);
  expectError(rejected, 400, 'validation_failed');
  expect(rejected.json.message).toBe('place must be free.');
  await app.close();
});
