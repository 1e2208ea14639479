#!lua
-- Ends open epochs that were begun before the given one, a limit of them at a time, leaving out the first ones.
-- KEYS  things due closing claims
-- ARGV  by evidence before offset limit
-- REPLY looked frozen
--@include ../hold/time.lua
--@include frozen.lua
local now, frozen = clock(), 0
local keys = {things = KEYS[1], due = KEYS[2], closing = KEYS[3], claims = KEYS[4]}
local things = redis.call('ZRANGE', KEYS[2], ARGV[4], ARGV[4] + ARGV[5] - 1)
for _, thing in ipairs(things) do
  local record = redis.call('HGET', KEYS[1], thing)
  if record and string.byte(record) ~= 48 and string.sub(record, 1, 16) < ARGV[3]
    and freeze(keys, thing, record, now, ARGV[1], ARGV[2]) then
    frozen = frozen + 1
  end
end
return {#things, frozen}
