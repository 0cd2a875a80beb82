import { ApiError } from '../errors/api-error';

export function petNotFound(): ApiError {
  return new ApiError(404, 'pet_not_found', 'There is no animal with this id.');
}
