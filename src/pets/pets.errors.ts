import { ApiError } from '../platform/errors/api-error';

export function petNotFound(): ApiError {
  return new ApiError('pet_not_found');
}

export function petNotAvailable(): ApiError {
  return new ApiError('pet_not_available');
}
