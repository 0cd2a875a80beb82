import { ApiSchema } from '@nestjs/swagger';
import { EVENT_TYPE, type TypeFilter } from '../events';
import { SortedPageQuery } from '../api/lists/page';
import { DAY_MS, SECOND_MS } from '../time/time';
import { type Choice, Flag, Int64, Integer, OneOf, SomeOf, Text, Timestamp } from '../api/fields/fields';
import { AtLeastOne, BodyExample, declareField, OptionalBody, QuickDto } from '../api/fields/validation.pipe';
import { SHOWN_LENGTH } from './receiver-client';

const MAX_URL_LENGTH = 2_048;
/** Visible ASCII. The part before the path has no `@`, so no user name and password. */
const URL_PATTERN = String.raw`^https?://[!-"$-.0->A-\[\]-~]+([/?#][!-~]*)?$`;

const isUrl = new RegExp(URL_PATTERN);

/** Declares the URL of a receiver. The service checks the parts that depend on settings. */
function ReceiverUrl(facts: { readonly optional?: true }): PropertyDecorator {
  return declareField(
    {
      ...facts,
      description:
        'Where the service sends the events: an `https` URL without user name and password. Its host must have public addresses only, and redirects are not followed.',
      // A name that has no address (RFC 6761).
      example: 'https://shop.example/webhooks',
    },
    {
      schema: {
        type: 'string',
        format: 'uri',
        minLength: 9,
        maxLength: MAX_URL_LENGTH,
        pattern: URL_PATTERN,
      },
      rule: `an https URL of at most ${MAX_URL_LENGTH} ASCII characters without user name and password: https:// in lower case, the host in Punycode (xn--…), the path percent-encoded`,
      isValid: (value) =>
        typeof value === 'string' &&
        value.length <= MAX_URL_LENGTH &&
        isUrl.test(value) &&
        URL.canParse(value),
    },
  );
}

const TYPES = { nullable: true, example: ['order.delivered'] } as const;

const STATUS: Choice = {
  name: 'WebhookStatus',
  description:
    'Status of a webhook: `active`, `failing` (the last delivery failed, the service retries) or `disabled`.',
  values: ['active', 'failing', 'disabled'],
};

const SET_STATUS: Choice<'active' | 'disabled'> = {
  name: 'WebhookStatusUpdate',
  description:
    'New status of a webhook: `active` retries immediately, `disabled` keeps the undelivered events.',
  values: ['active', 'disabled'],
};

@ApiSchema({ description: 'A webhook to create. Members that are not listed are ignored.' })
@QuickDto()
export class NewWebhook {
  @ReceiverUrl({})
  readonly url!: string;

  @SomeOf(EVENT_TYPE, {
    ...TYPES,
    optional: true,
    description: 'Only events of these types; null or omitted: all that the key may read.',
  })
  readonly types?: TypeFilter;
}

@AtLeastOne()
@BodyExample({ status: 'active' })
@QuickDto()
@ApiSchema({ description: 'New values of a webhook. Members that are left out keep their value.' })
export class WebhookUpdate {
  @ReceiverUrl({ optional: true })
  readonly url?: string;

  @SomeOf(EVENT_TYPE, { ...TYPES, optional: true, description: 'Only these types; null: all readable ones.' })
  readonly types?: TypeFilter;

  @OneOf(SET_STATUS, { optional: true, description: 'New status of the webhook.', example: 'active' })
  readonly status?: 'active' | 'disabled';
}

@ApiSchema({ description: 'A webhook of the account.' })
export class Webhook {
  @Int64({ description: 'Unique identifier, assigned by the service.', example: 1 })
  readonly id!: bigint;

  @ReceiverUrl({})
  readonly url!: string;

  @SomeOf(EVENT_TYPE, {
    ...TYPES,
    min: 0,
    description: 'Only these types; null: all of animals and orders; an empty list: none.',
  })
  readonly types!: TypeFilter;

  @OneOf(STATUS, { isInEntityTag: false, description: 'Status of the webhook.', example: 'active' })
  readonly status!: string;

  @Timestamp({ description: 'When the webhook was created.' })
  readonly createdAt!: string;

  @Timestamp({ description: 'When the webhook was created or last changed.' })
  readonly updatedAt!: string;

  @Timestamp({
    nullable: true,
    isInEntityTag: false,
    description: 'When the last event was delivered; null: none yet.',
  })
  readonly lastDeliveryAt!: string | null;

  @Text({
    max: 255,
    nullable: true,
    isInEntityTag: false,
    description: 'Why the last delivery failed; null if it succeeded.',
    example: null,
  })
  readonly lastError!: string | null;

  @Timestamp({
    nullable: true,
    isInEntityTag: false,
    description: 'The `createdAt` of the oldest undelivered event; null: all are delivered.',
    example: null,
  })
  readonly waitingSince!: string | null;

  @Timestamp({
    nullable: true,
    isInEntityTag: false,
    description: 'While the status is `failing`: when the service tries again.',
    example: null,
  })
  readonly nextAttemptAt!: string | null;

  @Text({ max: 100, optional: true, description: 'Its account. Only in lists with `?account=`.' })
  readonly account?: string;
}

@ApiSchema({ description: 'An attempt to deliver an event to a webhook.' })
export class Delivery {
  @Int64({ description: 'Identifier of the event; 0 of a test.', example: 70_368_744_177_665n })
  readonly eventId!: bigint;

  @Text({ max: 100, description: 'Type of the event.', example: 'pet.created' })
  readonly type!: string;

  @Timestamp({ description: 'When the attempt began.' })
  readonly at!: string;

  @Integer({ min: 0, max: 2_147_483_647, description: 'How long it took, in milliseconds.', example: 120 })
  readonly durationMs!: number;

  @Integer({
    min: 0,
    max: 999,
    nullable: true,
    description: 'Status of the response; null: no complete response in time.',
    example: 200,
  })
  readonly status!: number | null;

  @declareField(
    {
      nullable: true,
      description: `The first ${SHOWN_LENGTH} characters of the response, as they are; null without one.`,
      example: 'ok',
    },
    {
      // Any characters, as the receiver sent them.
      schema: { type: 'string', maxLength: SHOWN_LENGTH, pattern: String.raw`^[\s\S]*$` },
      rule: 'a string',
      isValid: (value) => typeof value === 'string',
    },
  )
  readonly response!: string | null;

  @Text({ max: 255, nullable: true, description: 'Why it failed; null if it succeeded.', example: null })
  readonly error!: string | null;
}

@QuickDto()
export class ListWebhooksQuery extends SortedPageQuery {
  @Text({
    max: 100,
    optional: true,
    description:
      'The webhooks of the account with this name, or of all accounts with `*`. The key needs the scope `admin`.',
  })
  readonly account?: string;
}

@ApiSchema({ description: 'How to replace the secret of a webhook.' })
@OptionalBody()
@QuickDto()
export class WebhookRotation {
  @Integer({
    min: 0,
    max: DAY_MS / SECOND_MS,
    optional: true,
    description:
      'How long deliveries are signed with the replaced secret, too, in seconds; 24 hours if omitted.',
    example: 3_600,
  })
  readonly graceSeconds: number = DAY_MS / SECOND_MS;
}

@ApiSchema({ description: 'A webhook with its new secret.' })
export class WebhookWithSecret extends Webhook {
  @Text({
    max: 255,
    description: 'The secret that signs the deliveries (Standard Webhooks). It is shown only here.',
    example: 'whsec_RVhBTVBMRSBFWEFNUExFIEVYQU1QTEUgRVhBTVBMRSE=',
  })
  readonly secret!: string;
}

@ApiSchema({ description: 'The outcome of a delivery.' })
export class WebhookTest {
  @Flag({ description: 'True if the receiver accepted it with a 2xx.', example: true })
  readonly delivered!: boolean;

  @Text({ max: 255, nullable: true, description: 'Why it was not delivered; null if it was.', example: null })
  readonly error!: string | null;
}
