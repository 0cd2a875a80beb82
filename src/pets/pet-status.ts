/** The states of an animal (specification, section 3). */
export const PET_STATUSES = ['available', 'pending', 'sold'] as const;

export type PetStatus = (typeof PET_STATUSES)[number];

/** To each state, those from which an animal may come to it. Only orders move animals. */
export const PET_TRANSITIONS: Readonly<Record<PetStatus, readonly PetStatus[]>> = {
  available: ['pending'],
  pending: ['available'],
  sold: ['pending'],
};
