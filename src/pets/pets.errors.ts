import { ApiError } from '../errors/api-error';

export function petNotFound(): ApiError {
  return new ApiError(404, 'pet_not_found', 'There is no animal with this id.');
}

export function petNotAvailable(): ApiError {
  return new ApiError(409, 'pet_not_available', 'The animal is not available: it is reserved or sold.');
}
