import type { OpenAPIObject, OperationObject } from '@nestjs/swagger';

/** Lists the operations of a document. */
export function operationsOf(paths: OpenAPIObject['paths']): OperationObject[] {
  return Object.values(paths).flatMap(({ get, post, put, patch, delete: remove }) =>
    [get, post, put, patch, remove].filter((operation) => operation !== undefined),
  );
}
