/** A member of an `IdleList`; it belongs to one list at most. */
export interface Idle {
  previous: Idle | undefined;
  next: Idle | undefined;
}

/**
 * Members in the order in which they were added. Each request removes its connection and adds it again, so the members
 * are linked to each other: a Set would allocate a new table every few requests.
 */
export class IdleList<Member extends Idle> {
  private readonly ring: Idle = { previous: undefined, next: undefined };
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** The member that was added first. */
  get first(): Member | undefined {
    // Only `add` links members, and it takes no other type.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return this.ring.next as Member | undefined;
  }

  add(member: Member): void {
    this.remove(member);
    const last = this.ring.previous ?? this.ring;
    member.previous = last;
    last.next = member;
    this.ring.previous = member;
    this.count += 1;
  }

  /** Does nothing if it is not a member. */
  remove(member: Member): void {
    const { previous, next } = member;
    if (!previous) return;
    previous.next = next;
    (next ?? this.ring).previous = previous === this.ring && !next ? undefined : previous;
    member.previous = undefined;
    member.next = undefined;
    this.count -= 1;
  }
}
