/** A member of a `LinkedList`. */
export interface Linked {
  previous: Linked | undefined;
  next: Linked | undefined;
  /** The list that contains it. */
  list: LinkedList<Linked> | undefined;
}

/**
 * A list of members in the order of their last addition. A member is in at most one list. Each request moves its
 * connection, so the members are linked to each other: a Set would allocate a new table every few requests.
 */
export class LinkedList<Member extends Linked> {
  private head: Linked | undefined;
  private tail: Linked | undefined;
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** The member with the oldest addition. */
  get first(): Member | undefined {
    // Only `add` links members, and it accepts only this type.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return this.head as Member | undefined;
  }

  /** Adds a member at the end, or moves it there. */
  add(member: Member): void {
    this.remove(member);
    member.list = this;
    member.previous = this.tail;
    if (this.tail) this.tail.next = member;
    else this.head = member;
    this.tail = member;
    this.count += 1;
  }

  /** Removes a member; does nothing if it is in another list or in none. */
  remove(member: Member): void {
    if (member.list !== this) return;
    const { previous, next } = member;
    if (previous) previous.next = next;
    else this.head = next;
    if (next) next.previous = previous;
    else this.tail = previous;
    member.previous = undefined;
    member.next = undefined;
    member.list = undefined;
    this.count -= 1;
  }
}
