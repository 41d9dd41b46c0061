# The column encoder of `text/columns.py`.

class ColumnEncoder(reference_columns.ColumnEncoder):
    __doc__ = reference_columns.ColumnEncoder.__doc__

    _encoder_type = Encoder

    def _add(self, columns):
        row, _ = reference_encoder._ROW_AND_WIDTH[self.options.physical_type]
        source = ColumnSource(columns)
        if not source.fits or self.options.physical_type == PhysicalType.GRAPHS:
            return super()._add(columns)
        self._encoder._writer.add_columns(self, columns, source, row << 3 | BYTES)
        return self._encoder._take_ended()
