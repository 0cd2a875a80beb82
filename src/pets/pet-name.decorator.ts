import { ValidateBy } from 'class-validator';

export const NAME_MAX_LENGTH = 255;

const CONTROL_CHARACTER = /\p{Cc}/u;

/** An animal's name: 1 to 255 code points, not all white space, without control characters or lone surrogates. */
export function IsPetName(): PropertyDecorator {
  return ValidateBy({
    name: 'isPetName',
    validator: {
      validate: isPetName,
      defaultMessage: () =>
        `name must be a string of 1 to ${NAME_MAX_LENGTH} characters, not all of them white space, without control characters`,
    },
  });
}

function isPetName(value: unknown): boolean {
  if (typeof value !== 'string' || value.trim() === '') return false;
  // A code point is one or two UTF-16 units, so anything longer need not be counted.
  if (value.length > 2 * NAME_MAX_LENGTH || Array.from(value).length > NAME_MAX_LENGTH) return false;
  return value.isWellFormed() && !CONTROL_CHARACTER.test(value);
}
