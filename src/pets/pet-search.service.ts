import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../platform/config/config';
import { CoalescedRead } from '../platform/database/coalesced-read';
import { WAIT_TIMEOUT_MESSAGE } from '../platform/database/database-errors';
import { Page, type PageRequest, pageRequestOf } from '../platform/paging/page';
import { Semaphore } from '../platform/runtime/semaphore';
import { parseInt64 } from '../platform/validation/int64';
import { editDistance, editsOf } from './edit-distance';
import {
  type FoundPet,
  type Match,
  MAX_COMPARED,
  MAX_COUNTED,
  MAX_READ,
  type Place,
  PetSearchRepository,
  WORD_LENGTH,
  type WordRange,
} from './pet-search.repository';
import type { Pet, SearchPetsQuery } from './pets.dto';

const MAX_FOUND = 1_000;
/** The longest words of a search, by which animals are looked up. All words must match. */
const MAX_KEYS = 4;
/** How many known words are compared with those of a search that finds none, in each direction. */
const NEIGHBOURS = 30;
/** How many texts with one difference are looked up, each with the words next to it: they begin as others do. */
const MAX_EDITS = 150;
/** The most similar words for a word. */
const MAX_SIMILAR = 5;
/** No word has this character; others sort before it. */
const LAST_CHARACTER = '\u{10FFFF}';
/** The driver in the cursors of a search for similar names. */
const SIMILAR = -1;

/** Words to look up, in the order of what they find, and what a name must match. */
interface Plan {
  readonly ranges: readonly Key[];
  readonly texts: readonly string[];
  /** The number of the word that is looked up, or SIMILAR. */
  readonly driver: number;
}

/** A word of a search, or the beginning of one. */
interface Key extends WordRange {
  /** A part of the matching names' words, which are between spaces. */
  readonly text: string;
}

/** An animal of a small category, and the words of its name between spaces. */
type NamedPet = Pet & { readonly text: string };

/** A search, and how many words it may still look at; less than 0: there are more. */
interface Work {
  readonly query: SearchPetsQuery;
  readonly request: PageRequest;
  readonly position: Position | undefined;
  /** All animals of the category, if it is small: they are compared in memory. */
  readonly pets: readonly NamedPet[] | undefined;
  left: number;
}

/** Where a page begins: after an animal, of which the earlier pages have this number. */
interface Position extends Place {
  readonly driver: number;
  readonly count: number;
}

/**
 * Finds animals by the words of their names. The index has words in the order of the result, so a page ends when it is
 * full. At most MAX_READ words are looked at otherwise, and the response says so (decision 38).
 */
@Injectable()
export class PetSearch {
  private readonly pages = new CoalescedRead<Page<Pet>>();
  private readonly turns: Semaphore;

  /** @internal */
  constructor(
    private readonly names: PetSearchRepository,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    // The other connections stay for other requests.
    this.turns = new Semaphore(Math.ceil(config.databasePoolSize / 4));
  }

  /** Finds a page of animals, the best first. @throws ApiError `invalid_cursor` */
  find(query: SearchPetsQuery): Promise<Page<Pet>> {
    const request = pageRequestOf('/pets/search', query, (text) => positionOf(text) !== undefined);
    return this.pages.read(request.key, () => {
      const begin = performance.now();
      return this.turns.run(() => {
        if (performance.now() - begin >= this.config.databasePoolWaitMs)
          throw new Error(WAIT_TIMEOUT_MESSAGE);
        return this.read(query, request);
      });
    });
  }

  private async read(query: SearchPetsQuery, request: PageRequest): Promise<Page<Pet>> {
    const given = await this.names.wordsOf(query.q);
    const words = [...new Set(given.slice(0, -1)), ...given.slice(-1)];
    if (words.length === 0) return new Page(request, [], undefined);
    const position = positionOf(request.after);
    const category = await this.smallCategory(query);
    const compared = category?.filter((pet): pet is NamedPet => pet.text !== null);
    const isWhole = compared?.length === category?.length;
    const work: Work = { query, request, position, pets: isWhole ? compared : undefined, left: MAX_READ };
    if (position?.driver !== SIMILAR) {
      const plan = await this.planOf(words, position);
      // The index leads to all animals with a rare word, and to few of the category with a frequent one.
      const isPart = !isWhole && (await this.areFrequent(plan));
      const page = await this.readPlan(plan, isPart ? { ...work, pets: compared, left: -1 } : work);
      if (position || page.items.length > 0 || isPart || work.left < 0) return page;
    }
    return this.readPlan(await this.similarPlanOf(words), work);
  }

  private async smallCategory({ categoryId, status }: SearchPetsQuery) {
    const isSmall = categoryId !== undefined && (await this.names.isSmall(categoryId));
    return isSmall ? this.names.readCategory(categoryId, status) : undefined;
  }

  /** Looks up the rarest word. */
  private async planOf(words: readonly string[], position?: Position): Promise<Plan> {
    const keys = words.map((word, at) => keyOf(word, at === words.length - 1));
    const texts = keys.map(({ text }) => text);
    const driver = position?.driver ?? (await this.rarestOf(keys));
    return { ranges: keys.slice(driver, driver + 1), texts, driver };
  }

  private async areFrequent({ ranges }: Plan): Promise<boolean> {
    return (await this.names.sizesOf(ranges)).some((size) => size >= MAX_COUNTED);
  }

  private async rarestOf(keys: readonly Key[]): Promise<number> {
    if (keys.length === 1) return 0;
    const longest = keys.toSorted((one, other) => other.text.length - one.text.length).slice(0, MAX_KEYS);
    const sizes = await this.names.sizesOf(longest);
    const rarest = longest[sizes.indexOf(Math.min(...sizes))];
    return keys.findIndex((key) => key === rarest);
  }

  /** Looks up the words that are similar to the longest one. Words without a similar one are ignored. */
  private async similarPlanOf(words: readonly string[]): Promise<Plan> {
    const longest = words
      .map((word, at) => ({ word, isLast: at === words.length - 1 }))
      .toSorted((one, other) => other.word.length - one.word.length)
      .slice(0, MAX_KEYS);
    const all: Key[][] = [];
    for (const { word, isLast } of longest) {
      const near = await this.names.near(cut(word), Math.ceil(NEIGHBOURS / longest.length));
      const edits = editsOf(cut(word), near).slice(0, MAX_EDITS / longest.length);
      const known = new Set([...near, ...(await this.names.nearest(edits))]);
      all.push(similarKeys(word, isLast, [...known]));
    }
    const found = all.filter((keys) => keys.length > 0);
    const texts = found.map((keys) => keys.map(({ text }) => text).join('|'));
    return { ranges: found[0] ?? [], texts, driver: SIMILAR };
  }

  private async readPlan({ ranges, texts, driver }: Plan, work: Work): Promise<Page<Pet>> {
    const { query, request, position, pets } = work;
    const { categoryId, status } = query;
    const before = position?.count ?? 0;
    const most = Math.min(request.limit, MAX_FOUND - before);
    const bytes = Math.floor(MAX_COMPARED / ranges.length);
    const found: FoundPet[] = [];
    let place: Place | undefined = position;
    for (const [at, range] of ranges.entries()) {
      if (place && !isIn(range, place.word)) continue;
      const start: Place = place ?? { word: range.from, size: -1, id: 0n };
      place = undefined;
      const match = { texts, others: ranges.slice(0, at).map(({ text }) => text), categoryId, status };
      if (pets) found.push(...matchesIn(pets, range, start, match));
      else {
        const bounds = { count: most + 1 - found.length, words: work.left, bytes };
        const read = await this.names.read(range, start, match, bounds);
        found.push(...read.found);
        if (found.length > most) break;
        work.left = read.isCut ? -1 : work.left - (await this.names.count(range, start, work.left));
      }
      if (found.length > most || work.left < 0) break;
    }
    const items = found.slice(0, most);
    const last = items.at(-1);
    const count = before + items.length;
    // The page after one that is not complete looks at further words.
    const hasNext = (found.length > most || work.left < 0) && count < MAX_FOUND && last !== undefined;
    const next = hasNext ? textOf({ ...last.place, driver, count }) : undefined;
    const shown = items.map(({ pet }) => pet);
    return new Page(request, shown, next, work.left < 0 ? { 'Search-Complete': 'false' } : {});
  }
}

/** Finds the animals that match, as the statement of the repository does. */
function matchesIn(pets: readonly NamedPet[], range: WordRange, start: Place, match: Match): FoundPet[] {
  return pets
    .flatMap(({ text, ...pet }) => {
      const words = text.trim().split(' ');
      const [word] = words
        .map(cut)
        .filter((each) => isIn(range, each))
        .toSorted(compareWords);
      const isWanted = match.texts.every((each) => each.split('|').some((part) => text.includes(part)));
      if (word === undefined || !isWanted || match.others.some((each) => text.includes(each))) return [];
      return { pet, place: { word, size: Math.min(words.length, 100), id: pet.id } };
    })
    .filter(({ place }) => comparePlaces(place, start) > 0)
    .toSorted((one, other) => comparePlaces(one.place, other.place));
}

function isIn({ from, to }: WordRange, word: string): boolean {
  return compareWords(from, word) <= 0 && compareWords(word, to) <= 0;
}

/** Compares as the database does. By UTF-16, which `<` compares, a letter such as \ufa11 follows U+10FFFF. */
function compareWords(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

function comparePlaces(one: Place, other: Place): number {
  if (one.word !== other.word) return compareWords(one.word, other.word);
  if (one.size !== other.size) return one.size - other.size;
  return Number(one.id > other.id) - Number(one.id < other.id);
}

/** Looks a word up, or the words that begin so. */
function keyOf(word: string, isBeginning: boolean): Key {
  const from = cut(word);
  const [to, text] = isBeginning ? [from + LAST_CHARACTER, ` ${word}`] : [from, ` ${word} `];
  return { from, to, text };
}

function cut(word: string): string {
  return Array.from(word).slice(0, WORD_LENGTH).join('');
}

/** Chooses the known words that are most similar to a word, which may be the beginning of the last one. */
function similarKeys(word: string, isLast: boolean, known: readonly string[]): Key[] {
  const short = cut(word);
  const isBeginning = isLast && known.some((each) => each.startsWith(short));
  const letters = Array.from(short).length;
  const similar = known
    .map((each) => ({ each, distance: editDistance(short, each) }))
    .filter(({ distance }) => distance <= Math.max(1, Math.floor(letters / 3)) && distance < letters)
    .filter(({ each }) => !isBeginning || !each.startsWith(short))
    .toSorted((one, other) => one.distance - other.distance || (one.each < other.each ? -1 : 1))
    .slice(0, MAX_SIMILAR)
    .map(({ each }) => keyOf(each, Array.from(each).length === WORD_LENGTH));
  return isBeginning ? [keyOf(word, true), ...similar] : similar;
}

/** Writes a position as the text of a cursor. The last part is the word. */
function textOf({ count, driver, size, id, word }: Position): string {
  return [count, driver, size, id, word].join(' ');
}

/** @returns undefined for a text that `textOf` does not write */
function positionOf(text = ''): Position | undefined {
  const [match, count, driver, size, digits = '', word = ''] =
    /^(\d{1,3}) (-1|\d\d?) (\d{1,3}) (-?\d{1,19}) ((?:[a-z\d]|\P{ASCII})+)$/u.exec(text) ?? [];
  const id = parseInt64(digits);
  if (match === undefined || id === undefined) return undefined;
  return { count: Number(count), driver: Number(driver), size: Number(size), id, word };
}
