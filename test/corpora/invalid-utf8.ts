/**
 * Bytes of the JSONTestSuite cases that are not UTF-8, each as a Latin-1 string.
 * The package stores strings, in which U+FFFD replaces these bytes.
 */
export const INVALID_UTF8: Readonly<Record<string, string>> = {
  'i_string_UTF-16LE_with_BOM.json': '\xff\xfe[\x00"\x00\xe9\x00"\x00]\x00',
  'i_string_UTF-8_invalid_sequence.json': '["\xe6\x97\xa5\xd1\x88\xfa"]',
  'i_string_UTF8_surrogate_U+D800.json': '["\xed\xa0\x80"]',
  'i_string_invalid_utf-8.json': '["\xff"]',
  'i_string_iso_latin_1.json': '["\xe9"]',
  'i_string_lone_utf8_continuation_byte.json': '["\x81"]',
  'i_string_not_in_unicode_range.json': '["\xf4\xbf\xbf\xbf"]',
  'i_string_overlong_sequence_2_bytes.json': '["\xc0\xaf"]',
  'i_string_overlong_sequence_6_bytes.json': '["\xfc\x83\xbf\xbf\xbf\xbf"]',
  'i_string_overlong_sequence_6_bytes_null.json': '["\xfc\x80\x80\x80\x80\x80"]',
  'i_string_truncated-utf-8.json': '["\xe0\xff"]',
  'i_string_utf16BE_no_BOM.json': '\x00[\x00"\x00\xe9\x00"\x00]',
  'i_string_utf16LE_no_BOM.json': '[\x00"\x00\xe9\x00"\x00]\x00',
  'n_array_a_invalid_utf8.json': '[a\xe5]',
  'n_array_invalid_utf8.json': '[\xff]',
  'n_number_invalid-utf-8-in-bigger-int.json': '[123\xe5]',
  'n_number_invalid-utf-8-in-exponent.json': '[1e1\xe5]',
  'n_number_invalid-utf-8-in-int.json': '[0\xe5]\n',
  'n_number_real_with_invalid_utf8_after_e.json': '[1e\xe5]',
  'n_object_lone_continuation_byte_in_key_and_trailing_comma.json': '{"\xb9":"0",}',
  'n_string_invalid-utf-8-in-escape.json': '["\\u\xe5"]',
  'n_string_invalid_utf8_after_escape.json': '["\\\xe5"]',
  'n_structure_incomplete_UTF8_BOM.json': '\xef\xbb{}',
  'n_structure_lone-invalid-utf-8.json': '\xe5',
  'n_structure_single_eacute.json': '\xe9',
};
