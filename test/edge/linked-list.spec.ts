import { array, assert, boolean, nat, property, record } from 'fast-check';
import { type Linked, LinkedList } from '../../src/platform/edge/http1/linked-list';

interface Member extends Linked {
  readonly name: number;
}

describe('a linked list', () => {
  it('keeps its members in the order of their last addition after any additions and removals', () => {
    const step = record({ isAdded: boolean(), name: nat({ max: 7 }) });
    assert(
      property(array(step), (steps) => {
        const list = new LinkedList<Member>();
        const members = Array.from({ length: 8 }, (_, name): Member => ({
          name,
          previous: undefined,
          next: undefined,
          list: undefined,
        }));
        let expected: number[] = [];
        for (const { isAdded, name } of steps) {
          expected = expected.filter((each) => each !== name);
          if (isAdded) expected.push(name);
          list[isAdded ? 'add' : 'remove'](members[name]!);
          expect([list.size, list.first?.name]).toEqual([expected.length, expected[0]]);
        }
        for (const name of expected) {
          expect(list.first?.name).toBe(name);
          list.remove(members[name]!);
        }
        expect([list.size, list.first]).toEqual([0, undefined]);
      }),
    );
  });
});
