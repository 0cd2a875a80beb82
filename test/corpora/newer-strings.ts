const range = (first: number, last: number): string =>
  String.fromCodePoint(...Array.from({ length: last - first + 1 }, (_, index) => first + index));

/** Strings of the list at commit db33ec7 that its older npm package does not have; three are shortened. */
export const NEWER_STRINGS: readonly string[] = [
  // C0 and C1 controls
  `${range(0x01, 0x08)}${range(0x0e, 0x1f)}\x7f`,
  `${range(0x80, 0x84)}${range(0x86, 0x9f)}`,
  // White space
  `\t\v\f \x85\xa0\u1680\u2002\u2003${range(0x2002, 0x200b)}\u2028\u2029\u202f\u205f\u3000`,
  // Format characters
  `\xad${range(0x600, 0x605)}\u061c\u06dd\u070f\u180e${range(0x200b, 0x200f)}${range(0x202a, 0x202e)}${range(0x2060, 0x2064)}${range(0x2066, 0x206f)}\ufeff${range(0xfff9, 0xfffb)}\u{110bd}${range(0x1bca0, 0x1bca3)}${range(0x1d173, 0x1d17a)}\u{e0001}${range(0xe0020, 0xe007f)}`,
  // A reversed byte order mark, which is not a character
  '\ufffe',
  // Letters above U+FFFF
  '𐐜 𐐔𐐇𐐝𐐀𐐡𐐇𐐓 𐐙𐐊𐐡𐐝𐐓',
  '表ポあA鷗ŒéＢ逍Üßªąñ丂㐀𠀀',
  // Longer in UTF-8 in lower case
  'Ⱥ',
  // Sequences with joiners
  '👨\u200d🦰 👨🏿\u200d🦰 🦹🏿\u200d♂\ufe0f',
  'జ\u0c4dఞ\u200c\u0c3e',
  // Ogham, and embeddings without an end
  '\u202a\u202a᚛\u1680\u1680᚜\u202a',
  // For other programs: modems, templates, format strings
  '+++ATH0',
  "<<< %s(un='%s') = %u",
  "{% print 'x' * 64 * 1024**3 %}",
  '{{ "".__class__.__mro__[2].__subclasses__()[40]("/etc/passwd").read() }}',
];
