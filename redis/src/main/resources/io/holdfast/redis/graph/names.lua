-- Between the two runs of put.lua values is called incoming, and has the mark ''. A server can refuse the second run after
-- the first: the sync of its disk failed meanwhile, or a client sent the two without a transaction around them.
-- Needs: incoming, values.

-- Gives values its name back. Answers nothing if it has it, otherwise the error to end with: what was read is not true.
local function straighten()
  if redis.call('HEXISTS', incoming, '') == 0 then return nil end
  if redis.call('RENAMENX', incoming, values) == 0 then
    return redis.error_reply('TORN values and incoming are both there, and incoming has what values should have')
  end
  redis.call('HDEL', values, '')
  return redis.error_reply('TRYAGAIN a transaction was torn apart, and values had the name incoming')
end
