#!lua flags=no-writes
-- The parts of the open epoch of a key, each as PART LENGTH : BYTES one after the other; epoch 0 if none is open.
-- KEYS  things parts
-- ARGV  thing
-- REPLY epoch packed
local record = redis.call('HGET', KEYS[1], ARGV[1])
if not record or string.byte(record) == 48 then
  return {0, ''}
end
local epoch = string.sub(record, 1, 16)
return {tonumber(epoch), redis.call('HGET', KEYS[2], epoch .. ARGV[1]) or ''}
