#!lua flags=no-writes
-- What is known of a key beside its holders: when its hard window ends, and its marks.
-- KEYS  meta things parts
-- ARGV  thing
-- REPLY now-ms end-ms marks bytes
--@include ../lease/time.lua
--@include marks.lua
local meta, things, parts = unpack(KEYS)
local text = redis.call('HGET', parts, ARGV[1]) or ''
local hard, extended = window_of(text, string.sub(redis.call('HGET', things, ARGV[1]) or '', 1, 16))
return {
  (clock()),
  hard and math.max(hard, extended) or -1,
  text,
  tonumber(redis.call('HGET', meta, 'bytes') or 0),
}
