import type { PipeTransform } from '@nestjs/common';
import type { ApiError } from '../errors/api-error';
import { parseInt64 } from './int64';

/** Reads an int64 path parameter. Any other text gets the same 404 as an unknown id. */
export class IdPipe implements PipeTransform<string, bigint> {
  constructor(private readonly notFound: () => ApiError) {}

  transform(value: string): bigint {
    const id = parseInt64(value);
    if (id === undefined) throw this.notFound();
    return id;
  }
}
