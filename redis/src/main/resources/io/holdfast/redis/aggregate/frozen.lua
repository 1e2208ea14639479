-- Ends the open epoch of a key, whoever holds it: it is closing from now on, and anybody may claim it. False if too many
-- earlier epochs of the key are unfinished. The caller has raised T.
local function freeze(keys, thing, record, now, by, evidence)
  local unfinished = tonumber(string.sub(record, 17, 17))
  if unfinished >= 9 then
    return false
  end
  local key = string.sub(record, 1, 16) .. thing
  redis.call('HSET', keys.closing, key, '0 0 0 ' .. by .. ' ' .. evidence)
  redis.call('ZADD', keys.claims, now, key)
  redis.call('ZREM', keys.due, thing)
  redis.call('ZREM', keys.ends, thing)
  redis.call('ZREM', keys.kept, thing)
  redis.call('HSET', keys.things, thing, '0000000000000000' .. (unfinished + 1))
  return true
end
