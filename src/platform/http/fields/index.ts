export { Decimal } from './decimal';
export { Flag } from './flag';
export { Int64 } from './int64';
export { Integer } from './integer';
export { ListOf } from './list-of';
export { Nested } from './nested';
export { type Choice, OneOf } from './one-of';
export { Text } from './text';
export { Timestamp } from './timestamp';
