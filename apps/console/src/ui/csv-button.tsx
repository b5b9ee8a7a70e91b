import { Button } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { sendRequest } from '../api/api'
import { shared } from '../texts'
import { readCsvPages } from './csv-pages'
import { Failure } from './failure'

type Props = {
  path: string
  fileName: string
  headers?: Record<string, string>
  send?: typeof sendRequest
}

/** Downloads what `path` answers as CSV, all of its pages. A link could not send the headers. */
export function CsvButton({ path, fileName, headers = {}, send = sendRequest }: Props) {
  const download = useMutation({
    async mutationFn() {
      const get = (page: string) => send('GET', page, { headers: { ...headers, accept: 'text/csv' } })
      saveAs(new Blob(await readCsvPages(path, get), { type: 'text/csv' }), fileName)
    },
  })
  return (
    <>
      <Button
        variant="default"
        size="xs"
        leftSection={<IconDownload size={16} aria-hidden />}
        loading={download.isPending}
        onClick={() => download.mutate()}
      >
        {shared.downloadCsv}
      </Button>
      {download.isError && <Failure error={download.error} retry={() => download.mutate()} />}
    </>
  )
}

function saveAs(content: Blob, fileName: string) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = fileName
  link.click()
  URL.revokeObjectURL(link.href)
}
