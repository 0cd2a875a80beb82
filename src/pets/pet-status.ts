/** Only an available animal can be ordered: the order makes it pending, and sold when it is delivered. */
export const PET_STATUSES = ['available', 'pending', 'sold'] as const;

export type PetStatus = (typeof PET_STATUSES)[number];

/** Each status with the statuses that an order may change to it. */
export const PET_STATUSES_BEFORE: Readonly<Record<PetStatus, readonly PetStatus[]>> = {
  available: ['pending'],
  pending: ['available'],
  sold: ['pending'],
};
