import type { Type } from '@nestjs/common';
import {
  PARAMTYPES_METADATA,
  PATH_METADATA,
  ROUTE_ARGS_METADATA,
  RouteParamtypes,
} from '@nestjs/common/internal';
import { DiscoveryService, MetadataScanner, ModulesContainer } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { isClass } from '../../platform/http/nest-dto';

/** A method of a controller that serves a route. */
export interface RouteHandler {
  /** `PetsController.listPets` */
  readonly place: string;
  readonly controller: Type;
  readonly method: object;
  readonly inputs: readonly Input[];
}

/** A parameter of a handler: a class, or a whole body as an array. Other types are not listed. */
export interface Input {
  readonly kind: 'body' | 'query' | 'path';
  readonly type: Type<object>;
  /** True if the handler names a pipe for it. */
  readonly hasPipe: boolean;
}

/** Nest's metadata of a parameter; the key is `paramtype:index`. */
interface RouteArgument {
  readonly index: number;
  /** The property that the value comes from; undefined for the whole body or query. */
  readonly data?: string;
  readonly pipes: readonly unknown[];
}

const KINDS: Readonly<Record<string, Input['kind']>> = {
  [RouteParamtypes.BODY]: 'body',
  [RouteParamtypes.QUERY]: 'query',
  [RouteParamtypes.PARAM]: 'path',
};

/** Lists the handlers of all modules. */
export function handlersOf(app: NestFastifyApplication): RouteHandler[] {
  const scanner = new MetadataScanner();
  const controllers = new DiscoveryService(app.get(ModulesContainer)).getControllers();
  return controllers.flatMap(({ metatype }) => {
    if (!isClass(metatype)) return [];
    return scanner.getAllMethodNames(metatype.prototype).flatMap((name) => handlerOf(metatype, name));
  });
}

function handlerOf(controller: Type<object>, name: string): RouteHandler[] {
  const method: unknown = Reflect.get(controller.prototype, name);
  if (typeof method !== 'function' || !Reflect.hasMetadata(PATH_METADATA, method)) return [];
  return [{ place: `${controller.name}.${name}`, controller, method, inputs: inputsOf(controller, name) }];
}

function inputsOf(controller: Type<object>, name: string): Input[] {
  const types: readonly unknown[] =
    Reflect.getMetadata(PARAMTYPES_METADATA, controller.prototype, name) ?? [];
  const known: Readonly<Record<string, RouteArgument>> =
    Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) ?? {};
  return Object.entries(known).flatMap(([key, { index, data, pipes }]) => {
    const kind = KINDS[key.split(':', 1).join()];
    const type = types[index];
    const isWholeBody = kind === 'body' && data === undefined;
    if (kind === undefined || !(isClass(type) || (isWholeBody && isArray(type)))) return [];
    return [{ kind, type, hasPipe: pipes.length > 0 }];
  });
}

/** True if the type of a parameter is Array. */
export function isArray(type: unknown): type is typeof Array {
  return type === Array;
}
